/** How the kinds of a node's options are written as flags, in variables and in files. */
import type { KindName, Row, ValueKind } from "../../src/node-options/index.js";
import { clientLimitsKind } from "./client-limits-kind.js";
import type { OptionDefinition } from "./option-definition.js";
import { formatValue, type OptionKind } from "./option-kind.js";
import {
  choiceKind,
  durationKind,
  endpointKind,
  endpointsKind,
  hostPortKind,
  nodeAddressesKind,
  nodeIdKind,
  onOffKind,
  sizeKind,
  switchKind,
  textKind,
  textsKind,
  wholeNumberKind,
} from "./option-kinds.js";

const WRITTEN: Readonly<
  Record<KindName, (kind: ValueKind<unknown>) => OptionKind<NonNullable<unknown>>>
> = {
  text: ({ placeholder }) => textKind(placeholder),
  texts: ({ placeholder }) => textsKind(placeholder),
  choice: ({ placeholder, choices }) => choiceKind(placeholder, choices),
  onOff: () => onOffKind,
  switch: () => switchKind,
  wholeNumber: ({ least, most }) => wholeNumberKind(least, most),
  duration: ({ least, most }) => durationKind(least, most),
  size: ({ least, most }) => sizeKind(least, most),
  nodeId: () => nodeIdKind,
  hostPort: () => hostPortKind,
  nodeAddresses: ({ placeholder, isRepeatable }) => nodeAddressesKind(placeholder, isRepeatable),
  endpoint: () => endpointKind,
  endpoints: () => endpointsKind,
  clientLimits: () => clientLimitsKind,
};

/** The option as people give it. */
export function definitionOf(row: Row<unknown>): OptionDefinition<unknown> {
  const { words, isRequired = false, defaultValue, defaultText, needs } = row;
  const kind = WRITTEN[row.kind.is](row.kind);
  // A default that counts only with another option, or only if none is given, is not a value yet.
  const isDependent = defaultText !== undefined || needs !== undefined;
  const isSwitch = kind.placeholder === "";
  const shown = isSwitch ? "" : defaultText;
  return {
    ...{ kind, description: words, reach: "everywhere", short: undefined, negation: undefined },
    isRequired,
    defaultValue: isDependent && !isSwitch ? undefined : defaultValue,
    defaultText:
      isDependent && !isSwitch && defaultValue !== undefined
        ? (shown ?? formatValue(kind, defaultValue))
        : shown,
  };
}
