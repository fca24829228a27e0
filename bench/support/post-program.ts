import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request, type IncomingMessage } from 'node:http'
import { answerJobs } from './answer-jobs.ts'

/** POSTs the events of a file, so many together, one POST after another on one connection. */
export interface PostJob {
  readonly port: number
  /** POST bodies as stored by the receiver: a JSON list. */
  readonly file: string
  readonly size: number
}

export interface PostFigures {
  /** CPU seconds, without reading the file. */
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

function eventsIn(file: string): string[] {
  const contents = JSON.parse(readFileSync(file, 'utf8')) as string[]
  return contents.flatMap(text => JSON.parse(text) as object | object[]).map(event => JSON.stringify(event))
}

async function postAll({ port, file, size }: PostJob): Promise<PostFigures> {
  const events = eventsIn(file)
  const before = process.cpuUsage()
  for (let at = 0; at < events.length; at += size) {
    const text = events.slice(at, at + size).join(',')
    await post(port, Buffer.from(size === 1 ? text : `[${text}]`))
  }
  // Idle until the next job, it could be closed by the receiver just when it is used again.
  agent.destroy()
  const used = process.cpuUsage(before)
  return { cpu: (used.user + used.system) / 1e6 }
}

answerJobs(postAll)
