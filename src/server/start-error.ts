/** Why the program cannot start: one line for a person. It then ends with exit code 1. */
export class StartError extends Error {
  override readonly name = 'StartError'
}
