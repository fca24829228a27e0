import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerJobs } from './answer-jobs.ts'

/** An event receiver; each command gets a response when it is done. */
export type WebhookJob =
  | { readonly work: 'listen' }
  /** From now on every request gets 503. */
  | { readonly work: 'refuse' }
  /** From now on everything is accepted, and counted from zero. */
  | { readonly work: 'take' }
  /** Resolves when so many events were accepted. */
  | { readonly work: 'until'; readonly events: number }
  /** Writes the accepted bodies to a file, as a list. */
  | { readonly work: 'keep'; readonly file: string }

/** From the first byte of the first request to the last response. */
export interface WebhookFigures {
  readonly milliseconds: number
}

export interface WebhookKept {
  readonly posts: number
  /** How many different events there were. */
  readonly events: number
}

const PATIENCE_MS = 120_000
const MARK = Buffer.from('{"event_id":')

const seen = { bodies: [] as Buffer[], events: 0, begun: Number.NaN, ended: Number.NaN }
let isTaking = true
let reported: { readonly events: number; readonly tell: () => void } | undefined

/** Searched rather than parsed: the receiver should be fast. */
function eventsIn(body: Buffer): number {
  let count = 0
  for (let at = body.indexOf(MARK); at >= 0; at = body.indexOf(MARK, at + MARK.length)) count++
  return count
}

function take(body: Buffer): void {
  seen.bodies.push(body)
  seen.events += eventsIn(body)
  seen.ended = performance.now()
  if (reported !== undefined && seen.events >= reported.events) reported.tell()
}

const server = createServer((request, response) => {
  if (isTaking && seen.events === 0) seen.begun = performance.now()
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    response.writeHead(isTaking ? 204 : 503).end()
    if (isTaking) take(Buffer.concat(pieces))
  })
})

function differentEvents(): number {
  const events = seen.bodies.flatMap(
    body => JSON.parse(body.toString()) as { event_id: string } | { event_id: string }[],
  )
  return new Set(events.map(({ event_id: id }) => id)).size
}

async function start(job: WebhookJob): Promise<object> {
  switch (job.work) {
    case 'listen':
      return new Promise(resolve => {
        server.listen(0, '127.0.0.1', () => resolve({ port: (server.address() as AddressInfo).port }))
      })
    case 'refuse':
      isTaking = false
      return {}
    case 'take':
      isTaking = true
      Object.assign(seen, { bodies: [], events: 0, begun: Number.NaN })
      return {}
    case 'until':
      return new Promise(resolve => {
        const tell = (): void => resolve({ milliseconds: seen.ended - seen.begun })
        reported = { events: job.events, tell }
        if (seen.events >= job.events) tell()
        const late = { error: `${job.events} events did not come in time` }
        setTimeout(() => resolve(late), PATIENCE_MS).unref()
      })
    case 'keep':
      writeFileSync(job.file, JSON.stringify(seen.bodies.map(String)))
      return { posts: seen.bodies.length, events: differentEvents() }
  }
}

answerJobs(start)
// Its starter may have failed.
process.once('disconnect', () => process.exit())
