/** Starts the page: remembered choices, the address, the connection, and then the views. */
import { render } from "preact";
import { App } from "./app/app.js";
import "./app/page.css";
import "./app/views.css";
import { Cluster } from "./connection/cluster.js";
import { ClusterContext } from "./connection/context.js";
import { takeControl } from "./connection/control.js";
import { homeEndpoint } from "./connection/home.js";
import { followPreferences } from "./state/preferences.js";
import { followAddress } from "./state/router.js";

followPreferences();
followAddress();
takeControl();
const cluster = new Cluster(homeEndpoint(location));
cluster.start();
const root = document.getElementById("page");
if (root === null) throw new Error("index.html has no element for the page");
render(
  <ClusterContext.Provider value={cluster}>
    <App />
  </ClusterContext.Provider>,
  root,
);
