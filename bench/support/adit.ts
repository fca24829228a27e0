import { rmSync } from 'node:fs'
import { newFolder } from '../../test/support/folder.ts'
import { spawnServer, type Process } from '../../test/support/server.ts'
import type { Job, Load } from './load.ts'

/** A real `adit serve` in a separate process, and the requests of the load. */
export class Adit implements AsyncDisposable {
  readonly dataDir: string
  readonly process: Process
  readonly port: number

  private constructor(dataDir: string, process: Process) {
    this.dataDir = dataDir
    this.process = process
    this.port = Number(new URL(process.api.url).port)
  }

  static async start(dataDir = newFolder(), environment: Record<string, string> = {}): Promise<Adit> {
    return new Adit(dataDir, await spawnServer(dataDir, environment))
  }

  /** Stops the process and keeps its data. */
  async stop(): Promise<void> {
    await this.process.end('SIGTERM')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.child.exitCode === null) await this.stop()
    rmSync(this.dataDir, { recursive: true })
  }

  /** The rest of a request after its target, as a client would send it. */
  head(extra = ''): string {
    return ` HTTP/1.1\r\nhost: 127.0.0.1:${this.port}\r\nauthorization: Bearer ${this.process.api.token}\r\n${extra}\r\n`
  }

  get(path: string, values: readonly string[] = ['']): Pick<Job, 'port' | 'before' | 'values' | 'after'> {
    return { port: this.port, before: `GET ${path}`, values, after: this.head() }
  }

  post(path: string, body: object): Pick<Job, 'port' | 'before' | 'values' | 'after'> {
    const text = JSON.stringify(body)
    const about = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n`
    return { port: this.port, before: `POST ${path}${this.head(about)}${text}`, values: [''], after: '' }
  }

  /** Creates so many IP policies through the API. */
  async fill(load: Load, count: number): Promise<void> {
    const post = this.post('/ip_policies', { description: 'bench', metadata: '{"made":"by the benchmark"}' })
    await load.run({ ...post, connections: Math.min(256, count), until: { requests: count } })
  }

  /** The ids of all IP policies, newest first. */
  async ids(): Promise<string[]> {
    const ids: string[] = []
    for (let path: string | null = '/ip_policies'; path !== null;) {
      const { body } = await this.process.api.get(path)
      ids.push(...body.ip_policies.map((policy: { id: string }) => policy.id))
      path = body.next_page_uri
    }
    return ids
  }
}
