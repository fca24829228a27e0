import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { pathToFileURL } from 'node:url'
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

suite('bin/adit of a checkout', () => {
  const root = join(bin, '..')

  test('runs the sources where no bundler is installed', async () => {
    const folder = newFolder()
    try {
      for (const name of ['bin', 'src', 'package.json', 'package-lock.json'])
        cpSync(join(root, name), join(folder, name), { recursive: true })
      mkdirSync(join(folder, 'scripts/package'), { recursive: true })
      mkdirSync(join(folder, 'node_modules'))
      for (const name of readdirSync(join(root, 'node_modules')))
        if (name !== 'esbuild' && name !== '.cache')
          symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
      const { stdout } = await run(join(folder, 'bin/adit'), ['--version'])
      assert.equal(stdout, `${metadata.version}\n`)
      assert.deepEqual(globSync('node_modules/.cache/program/*', { cwd: folder }), [])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  /** The stack trace of a failure inside the program: output that cannot be written. */
  async function stackOf(flag: string, thrown = `new Error('no output')`): Promise<string> {
    const folder = newFolder()
    try {
      const script = join(folder, 'fail.mjs')
      writeFileSync(
        script,
        `process.stdout.write = () => { throw ${thrown} }
         process.on('uncaughtException', error => { console.error(error.stack); process.exit(3) })`,
      )
      const env = { ...process.env, NODE_OPTIONS: `--import ${pathToFileURL(script).href}` }
      const failure = await run(join(bin, 'adit'), [flag], { env }).catch(
        (rejected: { code: number; stderr: string }) => rejected,
      )
      assert.equal('code' in failure && failure.code, 3)
      return failure.stderr
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  test('names the sources in stack traces of both bundles', async () => {
    assert.match(
      await stackOf('--version'),
      /Error: no output\n(.*\n)* +at .*runAgentLine \(src\/bin\/agent-line\.ts:\d+:\d+\)/,
    )
    assert.match(
      await stackOf('--help'),
      /Error: no output\n(.*\n)* +at .*runLine \(src\/bin\/program\.ts:\d+:\d+\)/,
    )
  })

  test('does not read source maps for a lost connection', async () => {
    const stack = await stackOf('--help', `Object.assign(new Error('no output'), { code: 'ECONNRESET' })`)
    assert.match(stack, /Error: no output\n(.*\n)* +at .*runLine \(.*\.mjs:\d+:\d+\)/)
  })
})
