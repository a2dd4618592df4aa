// The page as a whole: which of its states is on the screen, and what lies over all of them.

import type { JSX } from "preact";
import { CompareView } from "../compare/CompareView.tsx";
import { comparing } from "../compare/state.ts";
import { OpenScreen } from "../open/OpenScreen.tsx";
import { ChooseProfile } from "../open/ChooseProfile.tsx";
import { Skeleton } from "../open/Skeleton.tsx";
import { dragging } from "../open/drop.ts";
import { AskServer } from "../ledger/AskServer.tsx";
import { ForceDialog } from "../ledger/ForceDialog.tsx";
import { TrustDialog } from "../ledger/TrustDialog.tsx";
import { NotUsed } from "../ledger/NotUsed.tsx";
import { ShareDialog } from "../share/ShareDialog.tsx";
import { phase } from "../state/app.ts";
import { AboutDialog } from "./AboutDialog.tsx";
import { ContextMenu } from "./ContextMenu.tsx";
import { Died } from "./Died.tsx";
import { Profile } from "./Profile.tsx";
import { ShortcutsDialog } from "./ShortcutsDialog.tsx";
import { Speech, Toasts } from "./Toasts.tsx";

export function App(): JSX.Element {
  return (
    <>
      <Screen />
      {dragging.value && (
        <div class="drop-frame">
          <span>Release to open a profile or add binaries</span>
        </div>
      )}
      <ContextMenu />
      <ShareDialog />
      <AskServer />
      <ForceDialog />
      <TrustDialog />
      <NotUsed />
      <ChooseProfile />
      <AboutDialog />
      <ShortcutsDialog />
      <Toasts />
      <Speech />
    </>
  );
}

function Screen(): JSX.Element {
  const now = phase.value;
  switch (now.kind) {
    case "arriving":
      return <Skeleton name={null} />;
    case "empty":
      return <OpenScreen />;
    case "opening":
      return now.screen === "skeleton" ? <Skeleton name={now.name} /> : <OpenScreen />;
    case "open":
      return comparing.value === null ? <Profile /> : <CompareView />;
    case "died":
      return <Died />;
  }
}
