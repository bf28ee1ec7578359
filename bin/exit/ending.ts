/**
 * How a command ends: with an exit code, or by a signal that it got or that ended its child. It must
 * then die by that signal itself: a shell that runs a loop or a list of commands goes on after an
 * exit code, also after 130, and stops only if its child died by SIGINT.
 */
export type Ending = number | NodeJS.Signals;

export type Finish = (ending: Ending) => void;
