/** A single executable finds its own path in the place of a script; the options of its Node are built in. */
const isExecutable = process.argv[1] === process.execPath

/** The options of Node with which a program of this process's kind is started. */
export const ownNodeOptions = (): string[] => (isExecutable ? [] : process.execArgv)

/** All arguments after the executable file that start the same program again. */
export const ownArguments = (): string[] => [...ownNodeOptions(), ...process.argv.slice(isExecutable ? 2 : 1)]
