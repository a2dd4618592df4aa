// What the shell shows of the views.

export { CallTreeView } from "./call_tree_view.tsx";
export { FlameGraphView } from "./flame_graph_view.tsx";
export { FunctionsView } from "./functions_view.tsx";
export { setEvent } from "./query_steps.ts";
export { SourceView } from "./source/source_view.tsx";
export { TimeOrderView } from "./time_order/time_order_view.tsx";
export { ViewOptions } from "./view_options.tsx";
