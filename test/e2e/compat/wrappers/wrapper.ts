import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { program } from '../../../support/program.ts'
import { type TestServer } from '../../../support/server.ts'
import { newFolder } from '../../../support/folder.ts'

// oxlint-disable-next-line typescript/no-explicit-any -- a test may look at any field of any answer
type Answer = { readonly result?: any; readonly error?: string; readonly body?: any }

/** A home folder with a program called ngrok in it, which is ours. */
export class Home implements Disposable {
  readonly folder = newFolder()
  readonly program: string
  readonly config: string
  readonly environment: Record<string, string>

  constructor({ bound, dataDir }: TestServer, config = `version: "2"\nweb_addr: 127.0.0.1:0\n`) {
    mkdirSync(join(this.folder, 'bin'))
    this.program = join(this.folder, 'bin', 'ngrok')
    symlinkSync(program, this.program)
    this.config = join(this.folder, 'ngrok.yml')
    writeFileSync(this.config, config)
    this.environment = {
      PATH: process.env['PATH'] ?? '',
      HOME: this.folder,
      ADIT_SERVER_ADDR: `127.0.0.1:${bound.agent?.port ?? 0}`,
      ADIT_CA_FILE: join(dataDir, 'ca.pem'),
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true })
  }
}

/** An npm package that starts the agent, unmodified, in a process of its own. */
export class Wrapper implements AsyncDisposable {
  readonly child: ChildProcess
  readonly #lines: Interface

  constructor(name: string, home: Home, environment: Record<string, string> = {}) {
    this.child = spawn(process.execPath, [join(import.meta.dirname, 'program.ts'), name], {
      env: {
        ...home.environment,
        TEST_NGROK_FOLDER: join(home.folder, 'bin'),
        TEST_NGROK_PATH: home.program,
        TEST_NGROK_CONFIG: home.config,
        ...environment,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    if (!this.child.stdout) throw new Error('it has no output')
    this.#lines = createInterface(this.child.stdout)
  }

  async call(name: string, argument?: unknown): Promise<Answer> {
    this.child.stdin?.write(`${JSON.stringify([name, argument])}\n`)
    const [line] = (await once(this.#lines, 'line')) as [string]
    return JSON.parse(line) as Answer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.child, 'close')
    this.child.stdin?.end()
    await ended
  }
}
