import { readFileSync } from 'node:fs'
import { ConfigError } from '#cli/failure.ts'

/** What a file holds that has nothing but a secret, which most editors end with a line feed. */
export function readSecretFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new ConfigError(`the file ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? ''}`)
  }
}
