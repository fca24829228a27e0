import { catalog } from '#base/catalog.ts'
import type { ErrorName } from '#base/errors.ts'
import { hints } from '#base/hints/hints.ts'
import type { EdgePart } from '#base/hints/hint.ts'
import type { Service } from '#base/hints/service.ts'
import { nameFault } from '#base/name-fault.ts'
import type { parties } from '#contract/kinds/request.ts'
import { titleOf } from '#contract/names.ts'
import { answeringModule, responderOf, type EndedRequest } from '#contract/request-responder.ts'

const USUAL_PORT = 3000

interface Advice {
  readonly text: string
  readonly command?: string
}

const byParty: Readonly<Record<(typeof parties)[number], string>> = {
  visitor: 'The client has to send another request, or the endpoint has to allow this one.',
  edge: 'Check the edge, its modules and the backend.',
  tunnel: 'Start the agent, or check the labels of the tunnel group.',
  agent: 'Check the agent and its connection.',
  upstream: 'Check the service behind the agent or backend; its log may have the cause.',
}

const REJECTED =
  'Compare the request with what the service accepts: its path, method, headers and body. The log of the service may have the cause.'

function nameOf(code: string | null): ErrorName | undefined {
  if (code === null) return undefined
  const number = Number(/\d+$/.exec(code)?.[0])
  const names = Object.keys(catalog) as ErrorName[]
  return names.find(name => 'number' in catalog[name] && catalog[name].number === number)
}

/** The text of the catalogue without what only the gateway knew. */
const errorText = (name: ErrorName, { host, ip }: EndedRequest): string =>
  catalog[name].text
    .replaceAll('{host}', () => host)
    .replaceAll('{ip}', () => ip)
    .replaceAll(/\{\w+\}/g, '…')

/** The client chooses the host, and people paste commands. */
const commandFor = (command: string, host: string, port = USUAL_PORT): string =>
  command
    .replaceAll('{port}', String(port))
    .replaceAll('{labels}', '--label name=value')
    .replaceAll('{name}', () => (nameFault(host) === undefined ? ` --name ${host}` : ''))

/** What the operator of the endpoint can do; undefined if the request did not fail. */
function adviceFor(
  request: EndedRequest,
  error: ErrorName | undefined,
  { service, lacks }: RequestFacts,
): Advice | undefined {
  const { failed, host } = request
  if (failed === null) return undefined
  const hint = error === undefined ? undefined : hints[error]
  const special = (service && hint?.forService?.(service)) ?? (lacks && hint?.forEdge?.[lacks])
  const { owner: text, command } = special ?? hint ?? {}
  if (text !== undefined)
    return { text, ...(command !== undefined && { command: commandFor(command, host, service?.port) }) }
  const isOfService = answeringModule(request) === undefined && responderOf(request) !== 'gateway'
  return { text: failed === 'visitor' && isOfService ? REJECTED : byParty[failed] }
}

/** One sentence about the response. */
function summaryOf(request: EndedRequest): string {
  const module = answeringModule(request)
  if (module !== undefined)
    return `The module ${titleOf(module)} responded with ${request.status}; the service did not get the request.`
  const end = request.complete ? '' : ' The response was not sent completely.'
  return `The ${responderOf(request)} responded with ${request.status}.${end}`
}

/** What is known of a request besides its record. */
interface RequestFacts {
  /** Of its tunnel, if that is online. */
  readonly service: Service | undefined
  /** What its edge had no match for. */
  readonly lacks: EdgePart | undefined
}

/** Why a request got its response, and what to do, for people. */
export function reasonFor(request: EndedRequest, facts: RequestFacts) {
  const error = nameOf(request.error_code)
  const advice = adviceFor(request, error, facts)
  return {
    request_id: request.id,
    summary: summaryOf(request),
    error: error === undefined ? null : errorText(error, request),
    advice: advice?.text ?? null,
    command: advice?.command ?? null,
  }
}
