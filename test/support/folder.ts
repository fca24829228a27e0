import { mkdtempSync, rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** An empty folder, which the caller removes. */
export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'adit-test-'))

/** A folder that is gone with the test that made it. */
export class Folder implements Disposable {
  readonly path = newFolder()

  file(name: string): string {
    return join(this.path, name)
  }

  read(name: string): Promise<string> {
    return readFile(this.file(name), 'utf8')
  }

  /** ssh refuses private keys that others may read. */
  async write(name: string, text: string): Promise<string> {
    await writeFile(this.file(name), text.endsWith('\n') ? text : `${text}\n`, { mode: 0o600 })
    return this.file(name)
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true, maxRetries: 10 })
  }
}
