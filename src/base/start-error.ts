import { ExitError } from '#base/exit-error.ts'

/** Why the program cannot start. */
export class StartError extends ExitError {
  override readonly name = 'StartError'
  readonly exitCode = 1
}
