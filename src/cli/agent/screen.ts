import { styleText } from 'node:util'
import type { AgentStatus } from '#agent/events.ts'
import type { QrCode } from '#cli/agent/qr-code.ts'
import type { ShownRequest, TrafficStats } from '#cli/agent/traffic-stats.ts'
import { labelText, type NoteLevel } from '#cli/agent/view.ts'
import { printable } from '#cli/printable.ts'
import type { Tunnel } from '#agent/tunnel.ts'

type Style = Parameters<typeof styleText>[0]

/** The state that is shown. */
export interface Scene {
  readonly now: number
  readonly status: AgentStatus
  /** Since when the agent is in this state. */
  readonly since: number
  readonly latencyMs: number | undefined
  readonly server: string
  readonly inspector: string | undefined
  readonly tunnels: readonly Tunnel[]
  readonly traffic: TrafficStats
  /** Help lines about keys: empty while hidden, undefined without keys. */
  readonly help: readonly string[] | undefined
  readonly notes: readonly { readonly level: NoteLevel; readonly message: string }[]
  /** Takes the whole screen. */
  readonly qr: QrCode | undefined
}

interface Size {
  readonly columns: number
  readonly rows: number
}

/** A piece of a line; styles are applied after truncation. */
interface Piece {
  readonly text: string
  readonly style?: Style
}

const LABEL = 13
const MIN_ROOM = 20
const piece = (text: string, style?: Style): Piece => (style === undefined ? { text } : { text, style })
const row = (label: string, ...pieces: Piece[]): Piece[] => [piece(label.padEnd(LABEL), 'dim'), ...pieces]

/** The lines of the view, limited to the width and height of the terminal. */
export function screenLines(scene: Scene, size: Size, isColoured: boolean): string[] {
  const columns = size.columns - 1
  const lines = scene.qr === undefined ? statusLines(scene, columns) : qrScreen(scene.qr, size)
  // The last line and column stay free: writing there would scroll, or erase what was just written.
  return lines.slice(0, Math.max(1, size.rows - 1)).map(line => drawn(line, columns, isColoured))
}

function qrScreen({ url, lines: code }: QrCode, { columns, rows }: Size): Piece[][] {
  const address = folded('', [piece(url, 'cyan')], columns - 1)
  const isTooSmall = code.length + address.length + 1 > rows - 1 || (code[0]?.length ?? 0) > columns - 1
  return [
    [piece('r hides the QR code', 'dim')],
    ...(isTooSmall
      ? folded('', [piece('The terminal is too small for the QR code.', 'yellow')], columns - 1)
      : code.map(line => [piece(line, ['black', 'bgWhiteBright'])])),
    ...address,
  ]
}

function statusLines(scene: Scene, columns: number): Piece[][] {
  return [
    [
      piece('adit', 'bold'),
      piece(scene.help === undefined ? '  Ctrl-C quits' : '  q quits, ? for help', 'dim'),
    ],
    ...(scene.help ?? []).map(line => [piece(`  ${line}`)]),
    [],
    ...folded('State', stateOf(scene), columns),
    row('Gateway', piece(gatewayOf(scene))),
    row('Latency', piece(scene.latencyMs === undefined ? '-' : duration(scene.latencyMs))),
    ...scene.tunnels.flatMap((tunnel, at) =>
      folded(at === 0 ? 'Forwarding' : '', forwarding(tunnel), columns),
    ),
    ...(scene.inspector === undefined ? [] : [row('Inspector', piece(scene.inspector))]),
    row('Connections', piece(connectionsOf(scene.traffic))),
    ...durationLines(scene.traffic),
    ...scene.notes.flatMap(({ level, message }) =>
      folded('Note', [piece(message, noteStyles[level])], columns),
    ),
    ...requestLines(scene.traffic.requests),
  ]
}

/** A row that wraps on a narrow terminal: addresses and reasons are never truncated. */
function folded(label: string, pieces: readonly Piece[], columns: number): Piece[][] {
  // On a very narrow terminal the labels would leave too little room.
  const indent = columns >= LABEL + MIN_ROOM ? LABEL : 0
  const lines: Piece[][] = indent === 0 ? [[piece(label, 'dim')], []] : [row(label)]
  // Without room for a character the text would never end.
  const width = Math.max(1, columns - indent)
  let room = width
  for (const { text, style } of pieces) {
    let rest = Array.from(printable(text.replaceAll('\n', ' ')))
    while (rest.length > 0) {
      const taken = fitting(rest, room, width)
      lines.at(-1)?.push(piece(rest.slice(0, taken).join(''), style))
      room -= taken
      if (taken === rest.length) break
      rest = rest.slice(rest[taken] === ' ' ? taken + 1 : taken)
      lines.push([piece(' '.repeat(indent))])
      room = width
    }
  }
  return lines
}

/** The number of characters for the rest of a line: whole words, except those that are longer than a line. */
function fitting(text: readonly string[], room: number, width: number): number {
  if (text.length <= room) return text.length
  const blank = text.lastIndexOf(' ', room)
  if (blank >= 0) return blank
  const word = text.indexOf(' ')
  return room < width && (word < 0 ? text.length : word) <= width ? 0 : room
}

function drawn(pieces: readonly Piece[], columns: number, isColoured: boolean): string {
  let room = columns
  return pieces
    .map(({ text, style }) => {
      const shown = Array.from(printable(text.replaceAll('\n', ' '))).slice(0, room)
      room -= shown.length
      const cut = shown.join('')
      return style === undefined || !isColoured ? cut : styleText(style, cut, { validateStream: false })
    })
    .join('')
}

function stateOf({ status, since, now }: Scene): Piece[] {
  const { state, error, retryInMs } = status
  if (state === 'online') return [piece('online', 'green'), piece(` for ${elapsed(now - since)}`)]
  if (retryInMs === undefined) return [piece(state, 'yellow')]
  const left = Math.max(0, Math.ceil((since + retryInMs - now) / 1000))
  return [
    piece(`reconnecting in ${left} s`, 'yellow'),
    piece(error === undefined ? '' : `: ${error.message}`),
  ]
}

function gatewayOf({ server, status: { serverVersion, region } }: Scene): string {
  const facts = [serverVersion && `version ${serverVersion}`, region && `region ${region}`].filter(Boolean)
  return facts.length === 0 ? server : `${server} (${facts.join(', ')})`
}

const forwarding = ({ url, labels, forwardsTo }: Tunnel): Piece[] => [
  piece(url || labelText(labels), 'cyan'),
  piece(` -> ${forwardsTo}`),
]

function connectionsOf(traffic: TrafficStats): string {
  return `${traffic.open} open, ${traffic.total} in all, ${traffic.rate.toFixed(2)}/s`
}

/** Of requests: connections are kept open, so their duration has no meaning. */
function durationLines(traffic: TrafficStats): Piece[][] {
  const [half, most] = [traffic.percentile(0.5), traffic.percentile(0.9)]
  if (half === undefined || most === undefined) return []
  return [row('Durations', piece(`p50 ${duration(half)}, p90 ${duration(most)}`))]
}

const noteStyles = { info: 'dim', warn: 'yellow', error: 'red' } as const satisfies Record<NoteLevel, Style>
const statusStyles: Readonly<Record<number, Style>> = { 2: 'green', 3: 'cyan', 4: 'yellow', 5: 'red' }

const requestLines = (requests: readonly ShownRequest[]): Piece[][] =>
  requests.length === 0
    ? []
    : [
        [],
        [piece('Requests', 'bold')],
        ...requests.map(({ at, method, path, status, durationMs }) => [
          piece(`${clock(at)}  `, 'dim'),
          piece(String(status), statusStyles[Math.floor(status / 100)]),
          piece(`  ${duration(durationMs).padStart(8)}  ${method.padEnd(6)} ${path}`),
        ]),
      ]

const clock = (at: number): string => new Date(at).toTimeString().slice(0, 8)

function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`
  return `${(milliseconds / 1000).toFixed(milliseconds < 10_000 ? 1 : 0)} s`
}

function elapsed(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ]
  if (days > 0) return `${days} d ${hours} h`
  if (hours > 0) return `${hours} h ${minutes} min`
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`
}
