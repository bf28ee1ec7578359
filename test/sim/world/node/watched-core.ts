/** The core as its driver sees it; reports each input and its effects. */
import type { Effects, Input, Raft } from "../../../../src/raft/index.js";

export interface CoreWatch {
  beforeStep(input: Input): void;
  afterStep(input: Input): void;
  onTake(effects: Effects): void;
}

/** Must be called before the driver starts. */
export function watchCore(raft: Raft, watch: CoreWatch): void {
  const step = raft.step.bind(raft);
  const take = raft.take.bind(raft);
  raft.step = (input) => {
    watch.beforeStep(input);
    step(input);
    watch.afterStep(input);
  };
  raft.take = () => {
    const effects = take();
    watch.onTake(effects);
    return effects;
  };
}
