/** A single executable has its own path where others have their script; the options of its Node are built in. */
const isExecutable = process.argv[1] === process.execPath

/** The options of Node with which a program of this process's kind is started. */
export const ownNodeOptions = (): string[] => (isExecutable ? [] : process.execArgv)

/** What follows the executable file and precedes the arguments of the program. */
export const ownProgram = (): string[] => [
  ...ownNodeOptions(),
  ...(isExecutable ? [] : [process.argv[1] ?? '']),
]

/** All arguments after the executable file that start the same program again. */
export const ownArguments = (): string[] => [...ownProgram(), ...process.argv.slice(2)]
