import type { Command } from 'commander'

/** Commands by name. Each is made when it is needed: a command line names one of them, and has to start fast. */
export type CommandSet = Readonly<Record<string, () => Command>>
