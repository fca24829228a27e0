/** Exits the program with one line for a person and an exit code for scripts. */
export abstract class ExitError extends Error {
  abstract readonly exitCode: number
}
