import type { Socket } from 'node:net'
import { createServer } from 'node:tls'
import { Webhook } from 'standardwebhooks'
import { identity } from '../../base/egress/support.ts'
import { secretText } from '../../support/secrets.ts'
import { json, service, type Answer } from '../destinations/support.ts'
import { contentOf, readEvent, refused, type ReceivedEvent, type Stage, type Vendor } from './vendor.ts'
import { listening } from '../../support/net.ts'

export async function startWebhook({ stack }: Stage): Promise<Vendor> {
  const events: ReceivedEvent[] = []
  const secretOf = (name: string) => `whsec_${Buffer.from(secretText(name)).toString('base64')}`
  const verifier = new Webhook(secretOf('webhook'))
  const hook: Answer = (seen, response) => {
    try {
      events.push(
        verifier.verify(seen.body.toString(), seen.headers as Record<string, string>) as ReceivedEvent,
      )
      response.writeHead(204).end()
    } catch {
      json(response, 401, {})
    }
  }
  const { url } = stack.use(await service(hook))
  return {
    name: 'webhook',
    target: { url, secret: secretOf('webhook') },
    shown: { url, secret: '', batch_size: 1 },
    wrong: {
      target: { url, secret: secretOf('wrong webhook') },
      refusal: refused(/The webhook responded with 401\.$/),
    },
    arrived: () => events,
  }
}

interface Logs {
  readonly resourceLogs: readonly {
    readonly scopeLogs: readonly {
      readonly logRecords: readonly { readonly body: { readonly stringValue: string } }[]
    }[]
  }[]
}

export async function startOtlp({ stack }: Stage): Promise<Vendor> {
  const events: ReceivedEvent[] = []
  const authorization = `Bearer ${secretText('otlp')}`
  const collector: Answer = (seen, response) => {
    if (seen.headers.authorization !== authorization || seen.path !== '/v1/logs')
      return json(response, 401, { message: seen.headers.authorization })
    const scopes = (contentOf(seen) as Logs).resourceLogs.flatMap(({ scopeLogs }) => scopeLogs)
    const records = scopes.flatMap(({ logRecords }) => logRecords)
    events.push(...records.map(({ body }) => readEvent(body.stringValue)))
    json(response, 200, {})
  }
  const { url: endpoint } = stack.use(await service(collector))
  return {
    name: 'otlp',
    target: { endpoint, headers: { authorization } },
    shown: { endpoint, headers: { authorization: '' } },
    wrong: {
      target: { endpoint, headers: { authorization: `Bearer ${secretText('wrong otlp')}` } },
      refusal: refused(/responded with 401\.$/),
    },
    arrived: () => events,
  }
}

/** Takes messages with their length before them. */
const reading =
  (events: ReceivedEvent[]) =>
  (socket: Socket): void => {
    let rest = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('data', (piece: Buffer) => {
      rest = Buffer.concat([rest, piece])
      for (;;) {
        const [, digits = ''] = /^(\d+) /.exec(rest.subarray(0, 10).toString('latin1')) ?? []
        const end = digits.length + 1 + Number(digits)
        if (digits === '' || rest.length < end) return
        const message = rest.subarray(digits.length + 1, end).toString()
        events.push(readEvent(message.slice(message.indexOf('{'))))
        rest = rest.subarray(end)
      }
    })
  }

/** It has no secret: the receiver proves by its certificate who it is. `trust` gets the root of the right one. */
export async function startSyslog({ stack }: Stage, trust: (pem: string) => void): Promise<Vendor> {
  const events: ReceivedEvent[] = []
  const start = async () => {
    const own = await identity('IP:127.0.0.1')
    const { port } = stack.use(await listening(createServer(own, reading(events))))
    return { root: own.cert, target: { address: `127.0.0.1:${port}`, tls: true } }
  }
  const [{ root, target }, stranger] = [await start(), await start()]
  trust(root)
  return {
    name: 'syslog',
    target,
    shown: target,
    wrong: {
      target: stranger.target,
      refusal: { code: 90223, says: /The certificate of 127\.0\.0\.1 is not valid/ },
    },
    arrived: () => events,
  }
}
