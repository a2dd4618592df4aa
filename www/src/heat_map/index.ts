// The heat map for the shell: the view, and what stands at the right of its tab.

export { HeatMapOptions, HeatMapView } from "./heat_map_view.tsx";
