import { asText, fromBase64, hexDump } from '#ui/bytes.ts'
import { button, element } from '#ui/element.ts'
import { duration } from '#ui/format.ts'
import { bodyView, headersView, pre } from '#ui/inspector/body-view.ts'
import type { RequestDiagnosis } from '#ui/inspector/api.ts'
import { header, type CapturedBody, type Detail, type Headers } from '#ui/captured.ts'
import { tabs, type Tab } from '#ui/tabs.ts'

interface DetailActions {
  readonly replay: () => void
  readonly edit: () => void
  readonly diff: () => void
  readonly curl: () => void
  readonly open: (id: string) => void
  readonly reason: (requestId: string) => Promise<RequestDiagnosis | undefined>
}

const requestTab = { name: 'Body' }
const responseTab = { name: 'Body' }

/** All details of an exchange. */
export function detailView(detail: Detail, actions: DetailActions): Node {
  const { request, response, bodies } = detail
  return element(
    'article',
    {},
    element('h2', {}, `${request.method} ${request.uri}`),
    element(
      'div',
      { class: 'actions' },
      button('Replay', 'r', actions.replay),
      button('Edit and replay', 'e', actions.edit),
      button('Diff', 'd', actions.diff),
      button('Copy as curl', 'c', actions.curl),
    ),
    facts(detail, actions),
    element('h3', {}, `Request · ${request.proto}`),
    tabs('Request', messageTabs(request.headers, bodies.request, request), requestTab),
    element('h3', {}, response ? `Response · ${response.status}` : 'Response'),
    response
      ? tabs('Response', messageTabs(response.headers, bodies.response, response), responseTab)
      : element('p', { class: 'hint' }, detail.complete ? 'no response' : 'no response yet'),
  )
}

function messageTabs(headers: Headers, body: CapturedBody | null, message: { readonly raw: string }): Tab[] {
  const query = 'uri' in message ? queryOf(String(message.uri)) : []
  return [
    { name: 'Body', content: () => bodyView(headers, body) },
    { name: 'Headers', content: () => headersView(headers) },
    ...(query.length > 0 ? [{ name: 'Query', content: () => pre(query.join('\n')) }] : []),
    { name: 'Raw', content: () => pre(rawText(message.raw)) },
    { name: 'Hex', content: () => pre(hexDump(fromBase64(message.raw))) },
  ]
}

const queryOf = (uri: string): string[] =>
  [...new URLSearchParams(uri.split('?')[1] ?? '')].map(([name, value]) => `${name} = ${value}`)

const rawText = (raw: string): string => asText(fromBase64(raw)) ?? atob(raw)

function facts(detail: Detail, { open, reason }: DetailActions): Node {
  const { first_byte: first, replay_of: original } = detail
  const id = header(detail.request.headers, 'Adit-Request-Id')
  const wait = first === null ? '' : ` (first byte after ${duration(first)})`
  const link = original === undefined ? undefined : button(original, '', () => open(original))
  const rows: readonly (readonly [string, Node | string])[] = [
    ['Time', new Date(detail.start).toLocaleString()],
    [
      'Duration',
      detail.complete ? duration(detail.duration) + wait : `${duration(detail.duration)}, not complete`,
    ],
    ['Client', detail.remote_addr],
    ['Tunnel', detail.tunnel_name],
    ...(link ? [['Replay of', link] as const] : []),
    ...(id === ''
      ? []
      : [['Request id', element('code', {}, id)] as const, ['Gateway', gatewayView(id, reason)] as const]),
  ]
  return element(
    'dl',
    {},
    ...rows.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]),
  )
}

/** The gateway records the reason for its response; if the agent may not read it, the user can. */
function gatewayView(id: string, reason: DetailActions['reason']): Node {
  const view = element('span', { class: 'hint' }, '…')
  const command = `adit requests why ${id}`
  void reason(id).then(
    known => view.replaceChildren(known === undefined ? command : reasonText(known)),
    () => view.replaceChildren(command),
  )
  return view
}

function reasonText({ error_code: code, failed, modules, notes, ...times }: RequestDiagnosis): string {
  const passed = modules.map(({ name, verdict }) => `${name} ${verdict.replace('_', ' ')}`)
  const { modules_ms: before, backend_ms: backend } = times
  return [
    ...passed,
    ...notes,
    ...(code === null ? [] : [code]),
    ...(failed === null ? [] : [`failed: ${failed}`]),
    ...(before === null ? [] : [`modules ${before} ms`]),
    ...(backend === null ? [] : [`upstream ${backend} ms`]),
  ].join(' · ')
}
