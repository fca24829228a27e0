import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request, type IncomingMessage } from 'node:http'
import { answerJobs } from './answer-jobs.ts'
import { StoredEvents } from './events/stored-events.ts'

/** POSTs the events of a file, so many together, one POST after another on one connection. */
export interface PostJob {
  readonly port: number
  /** POST bodies as stored by the receiver: a JSON list. */
  readonly file: string
  readonly size: number
  /** With an HMAC of each body, as a webhook has. */
  readonly signed: boolean
  /** From a database that is made of the file here, in which the position is written too. */
  readonly database?: string
}

export interface PostFigures {
  /** CPU seconds, without reading the file. */
  readonly cpu: number
}

const key = createSecretKey(randomBytes(24))
const agent = new Agent({ keepAlive: true, maxSockets: 1 })

const signatureOf = (body: Buffer): Record<string, string> => ({
  'webhook-signature': `v1,${createHmac('sha256', key).update(`evb.${Date.now()}.`).update(body).digest('base64')}`,
})

async function post({ port, signed }: PostJob, body: Buffer): Promise<void> {
  const fields = { 'content-type': 'application/json', 'content-length': body.length }
  const headers = signed ? { ...fields, ...signatureOf(body) } : fields
  const asked = request({ agent, host: '127.0.0.1', port, method: 'POST', path: '/', headers }).end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  if (answer.statusCode !== 204) throw new Error(`the receiver answered ${answer.statusCode}`)
  await once(answer.resume(), 'end')
}

function eventsIn(file: string): string[] {
  const contents = JSON.parse(readFileSync(file, 'utf8')) as string[]
  return contents.flatMap(text => JSON.parse(text) as object | object[]).map(event => JSON.stringify(event))
}

async function postEach(job: PostJob, events: readonly string[]): Promise<void> {
  for (let at = 0; at < events.length; at += job.size) {
    const text = events.slice(at, at + job.size).join(',')
    await post(job, Buffer.from(job.size === 1 ? text : `[${text}]`))
  }
}

async function postAll(job: PostJob): Promise<PostFigures> {
  const { file, database } = job
  const events = eventsIn(file)
  using stored = database === undefined ? undefined : await StoredEvents.create(database, events)
  const before = process.cpuUsage()
  if (stored === undefined) await postEach(job, events)
  else for (const page of stored.pages()) await postEach(job, page)
  // Idle until the next job, it could be closed by the receiver just when it is used again.
  agent.destroy()
  const used = process.cpuUsage(before)
  return { cpu: (used.user + used.system) / 1e6 }
}

answerJobs(postAll)
