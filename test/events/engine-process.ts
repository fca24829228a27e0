import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** The event engine of one of several servers on a database. */
export class EngineProcess implements AsyncDisposable {
  readonly name: string
  readonly child: ChildProcess

  private constructor(url: string, name: string, leaseMs: number) {
    this.name = name
    this.child = fork(join(import.meta.dirname, 'engine-program.ts'), [url, name, String(leaseMs)])
  }

  static async start(url: string, name: string, leaseMs: number): Promise<EngineProcess> {
    const started = new EngineProcess(url, name, leaseMs)
    await once(started.child, 'message')
    return started
  }

  /** Whether it is the leader, which delivers. */
  async delivers(): Promise<boolean> {
    this.child.send('?')
    const [{ delivers }] = await once(this.child, 'message')
    return delivers
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const gone = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await gone
  }
}
