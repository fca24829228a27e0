import { readFileSync } from 'node:fs'
import { ConfigError } from '#cli/failure.ts'

/** The content of a secret file, without the final line feed that most editors add. */
export function readSecretFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new ConfigError(`the file ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? ''}`)
  }
}
