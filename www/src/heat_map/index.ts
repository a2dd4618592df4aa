// The heat map for the shell: the view, and what stands at the right of its tab.

export { HeatMapView } from "./heat_map_view.tsx";
export { HeatMapOptions } from "./options.tsx";
