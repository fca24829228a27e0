import { createHash } from 'node:crypto'
import { fail } from '#base/errors.ts'
import type { Exchange, Handler, Reply } from '#http/exchange.ts'
import { DialError } from '#registry/agent-dialer.ts'
import { noBody } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import type { HttpModule } from '#gateway/modules/module.ts'
import type { ModuleContext } from '#http/module-context.ts'
import { errorReply } from '#http/pages.ts'
import { WebSocketTcpStream } from '#http/websocket/tcp-stream.ts'
import { TunnelError } from '#tunnel/frame.ts'

const NAME = 'websocket_tcp_converter'
const OPTION = 'WebsocketTCPConverter'
/** RFC 6455 §1.3. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,255}$/
const EMPTY = Buffer.alloc(0)

type Dial = NonNullable<ModuleContext['dial']>

/** Accepts WebSocket connections itself, and forwards the content of their messages. */
const converter =
  (dial: Dial): Handler =>
  async exchange => {
    const { head, client, context } = exchange
    const key = keyOf(head)
    if (key === undefined) return errorReply('websocket_required', head)
    context.upstream.upstreamStartedAt = performance.now()
    try {
      const stream = await dial(client, EMPTY)
      context.upstream.reused = false
      return upgradeReply(head, key, new WebSocketTcpStream(stream))
    } catch (error) {
      return unreachable(error, exchange)
    }
  }

/** The key of a valid WebSocket request over HTTP/1.1. */
function keyOf({ method, upgrade, fields }: RequestHead): string | undefined {
  if (method !== 'GET' || upgrade !== 'websocket' || fields.get('sec-websocket-version') !== '13')
    return undefined
  const key = fields.get('sec-websocket-key')
  return key !== undefined && KEY.test(key) ? key : undefined
}

function upgradeReply({ fields }: RequestHead, key: string, upgraded: WebSocketTcpStream): Reply {
  const accept = createHash('sha1').update(`${key}${ACCEPT_SUFFIX}`).digest('base64')
  const protocol = protocolOf(fields)
  const lines =
    `Upgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n` +
    (protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`)
  const head = {
    status: 101,
    reason: 'Switching Protocols',
    framing: noBody.framing,
    fields: new Fields(lines),
  }
  return { head, body: noBody, upgraded }
}

/** Browsers close the connection if they offer protocols and none is selected. Any is fine here, with a preference. */
function protocolOf(fields: Fields): string | undefined {
  const offered = fields
    .all('sec-websocket-protocol')
    .flatMap(value => value.split(','))
    .map(name => name.trim())
    .filter(name => TOKEN.test(name))
  return offered.includes('binary') ? 'binary' : offered[0]
}

function unreachable(error: unknown, { head }: Exchange): Reply {
  if (error instanceof DialError) return errorReply(error.code === 'busy' ? 'agent_busy' : 'agent_gone', head)
  if (error instanceof TunnelError) return errorReply('agent_gone', head)
  throw error
}

export const websocketTcpModule: HttpModule = {
  name: NAME,
  fromRecord(_given, { dial }) {
    if (dial === undefined)
      fail('module_unusable', { module: NAME, reason: 'its backend supports only HTTP' })
    return converter(dial)
  },
  fromAgent: {
    options: [OPTION],
    build(_given, { dial }) {
      if (dial === undefined)
        fail('bind_option', { option: OPTION, reason: 'its service supports only HTTP' })
      return converter(dial)
    },
  },
}
