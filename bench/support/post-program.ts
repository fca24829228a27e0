import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request, type IncomingMessage } from 'node:http'

/** POSTs each content of a file, a list in JSON, one after another on one connection. */
export interface PostJob {
  readonly port: number
  readonly file: string
}

export interface PostFigures {
  /** Seconds that processors worked, without reading the file. */
  readonly cpu: number
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })

async function post(port: number, body: Buffer): Promise<void> {
  const headers = { 'content-type': 'application/json', 'content-length': body.length }
  const asked = request({ agent, host: '127.0.0.1', port, method: 'POST', path: '/', headers }).end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  if (answer.statusCode !== 204) throw new Error(`the receiver answered ${answer.statusCode}`)
  await once(answer.resume(), 'end')
}

async function postAll({ port, file }: PostJob): Promise<PostFigures> {
  const bodies = (JSON.parse(readFileSync(file, 'utf8')) as string[]).map(body => Buffer.from(body))
  const before = process.cpuUsage()
  for (const body of bodies) await post(port, body)
  const used = process.cpuUsage(before)
  return { cpu: (used.user + used.system) / 1e6 }
}

process.on('message', (job: PostJob) => {
  postAll(job).then(
    figures => process.send?.(figures),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})
