/** One setting: its form and its meaning. Flag, variable and file key follow from its name. */
export interface Setting<Value> {
  readonly doc: string
  readonly example: string
  /** As text, for people; absent if there is none. */
  readonly fallback?: string
  /** Throws with the words that follow "must be". */
  readonly read: (text: string) => Value
  /** Its text may contain a secret, and is not shown. */
  readonly secret?: true
  /** A reload applies a new value; all others need a restart. */
  readonly reload?: true
  /** The gateway uses it: it is one of `GatewaySettings`, which worker processes receive too. */
  readonly gateway?: true
  /** Standard variables for the same value, in order of precedence, each with its parser. */
  readonly standard?: Readonly<Record<string, (text: string) => Value>>
}

/** Keeps the literal types of a declaration, from which those of all settings follow. */
export const setting = <Value, const Spec extends Setting<Value>>(spec: Spec & Setting<Value>): Spec => spec
