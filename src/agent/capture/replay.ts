import { Socket } from 'node:net'
import { Duplex, PassThrough, type Readable, type Writable } from 'node:stream'
import { CaptureTap, type Capture } from '#agent/capture/capture-tap.ts'
import type { CaptureEvent } from '#agent/capture/capture-store.ts'
import { dialBehind, dialReason, badGateway } from '#agent/dial-upstream.ts'
import type { EndpointSpec } from '#agent/endpoint.ts'
import { refuseEndpoint } from '#agent/refuse-endpoint.ts'

/** The caller gets a response after this time; the exchange is recorded until the upstream ends it. */
const WAIT_MS = 2000
const IDLE_MS = 60_000

/** PROXY protocol headers of a connection that has no client behind it. */
const prefaces: Readonly<Record<EndpointSpec['proxyProto'], Buffer | undefined>> = {
  0: undefined,
  1: Buffer.from('PROXY UNKNOWN\r\n'),
  2: Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex'),
}

/** Sends a request to the upstream of an endpoint and records the exchange. */
export async function replay(endpoint: EndpointSpec, request: Buffer, replayOf: string): Promise<string> {
  const { target, files, capture, forwardsProto } = endpoint
  if ((target === undefined && files === undefined) || capture === undefined || forwardsProto === 'http2')
    return refuseEndpoint('only a tunnel whose requests are captured can replay one')
  const tap = new CaptureTap(capture, '127.0.0.1', { replayOf })
  const { exchange, finished } = watch(capture, () => tap.sent(request))
  void send(endpoint, request, tap)
  const timer = setTimeout(finished.resolve, WAIT_MS)
  await finished.promise
  clearTimeout(timer)
  return exchange
}

/** The exchange that `begin` starts, and its end. */
function watch({ store }: Capture, begin: () => void) {
  const finished = Promise.withResolvers<void>()
  let exchange = ''
  const unsubscribe = store.subscribe((event: CaptureEvent) => {
    if (event.kind === 'began' && exchange === '') exchange = event.exchange.id
    if (event.kind === 'cleared' || (event.kind === 'finished' && event.exchange.id === exchange))
      finished.resolve()
  })
  begin()
  void finished.promise.then(unsubscribe)
  return { exchange, finished }
}

/** A connection to the upstream of an endpoint. */
async function dial(endpoint: EndpointSpec): Promise<Duplex> {
  const { target, files, proxyProto } = endpoint
  if (target !== undefined)
    return dialBehind(endpoint, target, { plain: false, preface: prefaces[proxyProto] })
  const [requests, responses] = [new PassThrough(), new PassThrough()]
  files?.serve(joined(requests, responses), undefined)
  return joined(responses, requests)
}

/** The types of `Duplex.from` know only web streams here. */
const joined = (readable: Readable, writable: Writable): Duplex =>
  Duplex.from({ readable, writable } as unknown as Parameters<typeof Duplex.from>[0])

async function send(endpoint: EndpointSpec, request: Buffer, tap: CaptureTap): Promise<void> {
  let socket: Duplex | undefined
  let isAnswered = false
  try {
    socket = await dial(endpoint)
    if (socket instanceof Socket) socket.setTimeout(IDLE_MS, () => socket?.destroy())
    socket.write(request)
    for await (const bytes of socket) {
      isAnswered = true
      tap.received(bytes as Buffer)
      if (tap.isIdle) break
    }
    tap.closed(true)
  } catch (error) {
    const { target } = endpoint
    const reason = target === undefined ? (error as Error).message : dialReason(error as Error, target)
    if (!isAnswered) tap.received(badGateway(`failed to dial backend: ${reason}`))
    tap.closed(false)
  }
  socket?.destroy()
}
