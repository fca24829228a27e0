import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { newFolder } from '../support/folder.ts'
import metadata from '../../package.json' with { type: 'json' }

const run = promisify(execFile)
const bin = join(import.meta.dirname, '../../bin')

suite('bin/adit finds its own folder', () => {
  const links: Record<string, [target: string, program: string]> = {
    'through a link to it': [join(bin, 'adit'), 'link'],
    'through a link to its folder': [bin, 'link/adit'],
  }
  for (const [how, [target, program]] of Object.entries(links))
    test(how, async () => {
      const folder = newFolder()
      try {
        symlinkSync(target, join(folder, 'link'))
        const { stdout } = await run(join(folder, program), ['--version'])
        assert.equal(stdout, `${metadata.version}\n`)
      } finally {
        rmSync(folder, { recursive: true })
      }
    })
})
