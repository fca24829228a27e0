import { join } from 'node:path'

/** A single executable has its own path in place of a script; the options of its Node are built in. */
const isExecutable = process.argv[1] === process.execPath

/** The Node options for starting another process of this program. */
export const ownNodeOptions = (): string[] => (isExecutable ? [] : process.execArgv)

/** The arguments between the executable and those of the program. */
export const ownProgram = (): string[] => [
  ...ownNodeOptions(),
  ...(isExecutable ? [] : [process.argv[1] ?? '']),
]

/** All arguments after the executable that start the same program again. */
export const ownArguments = (): string[] => [...ownProgram(), ...process.argv.slice(2)]

/** What people type to run this program: that of a checkout is not on the path. */
export const commandName = (): string =>
  process.argv[1]?.endsWith(join('src', 'bin', 'adit.cjs')) ? 'bin/adit' : 'adit'
