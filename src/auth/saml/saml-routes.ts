import { endpointConfiguration } from '#contract/kinds/endpoint-configuration.ts'
import { httpsEdgeRoute } from '#contract/kinds/https-edge-route.ts'
import { fail, Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import type { Exchange, Handler, Reply } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { errorReply } from '#http/pages.ts'
import type { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'
import type { Accepted } from '#auth/saml/assertion.ts'
import { readForm, single } from '#auth/saml/form.ts'
import { loggedOutReply, readLogout, sessionsOf } from '#auth/saml/logout.ts'
import { ReplayGuard } from '#auth/saml/replay-guard.ts'
import { ownMetadata } from '#auth/saml/own-metadata.ts'
import {
  SAML_PREFIX,
  samlServiceProvider,
  type SamlServiceProvider,
  type SamlSettings,
} from '#auth/saml/service-provider.ts'
import { requestFormReply, pageReply } from '#auth/saml/post-form.ts'
import { readResponse } from '#auth/saml/response.ts'
import { idpInitiatedTarget } from '#auth/saml/target.ts'
import { sealHandoffToken } from '#auth/saml/handoff-token.ts'
import { otherAccountLink } from '#auth/sign-in/chooser.ts'
import { openState, type State, IDP_INITIATED } from '#auth/sign-in/flow.ts'
import { handOver } from '#auth/sign-in/hand-over.ts'
import { parametersOf } from '#auth/sign-in/paths.ts'
import type { Seal } from '#auth/sign-in/seal.ts'
import type { RealmsAt } from '#auth/sign-in/sign-in.ts'
import type { UserSessionStore } from '#auth/sign-in/user-session-store.ts'

interface SamlRoutesParts {
  readonly records: Records
  readonly seal: Seal
  readonly info: GatewayInfo
  readonly userSessions: Pick<UserSessionStore, 'ended'>
  readonly realmsAt: RealmsAt
  readonly log: Log
  readonly now?: () => number
}

const samlKinds = [httpsEdgeRoute, endpointConfiguration] as const

/** The SAML endpoints for identity providers, on the central host: `/saml/<id>` and below. */
export function samlRoutes(parts: SamlRoutesParts): Handler {
  const central = new SamlRoutes(parts)
  return async exchange => {
    const { head } = exchange
    try {
      return await central.answer(exchange)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return rejected(parts, head, error)
    }
  }
}

function rejected(
  { log }: SamlRoutesParts,
  head: RequestHead,
  error: Problem,
  links: Parameters<typeof errorReply>[3] = [],
): Reply {
  log.info({ path: head.path, code: error.code, reason: error.message }, 'SAML message rejected')
  return errorReply(error.code, head, error.values, links)
}

class SamlRoutes {
  readonly #parts: SamlRoutesParts
  readonly #now: () => number
  readonly #used: ReplayGuard

  constructor(parts: SamlRoutesParts) {
    this.#parts = parts
    this.#now = parts.now ?? Date.now
    this.#used = new ReplayGuard(this.#now)
  }

  async answer(exchange: Exchange): Promise<Reply> {
    const { method, path, target } = exchange.head
    const [id = '', action = '', ...rest] = path.slice(SAML_PREFIX.length).split('/')
    const { row, settings } = this.#find(id)
    const service = samlServiceProvider(id, settings, this.#parts.info)
    const isGet = method === 'GET'
    if (rest.length === 0) {
      if (action === '' && isGet)
        return pageReply(ownMetadata(service, settings), 'application/samlmetadata+xml')
      if (action === 'sso' && isGet) return this.#ask(service, target)
      if (action === 'acs' && method === 'POST') return this.#signedIn(exchange, row, service)
      if (action === 'slo' && (isGet || method === 'POST')) return this.#signOut(exchange, row, service)
    }
    return fail('saml_method')
  }

  #find(id: string): { readonly row: SourceRow; readonly settings: SamlSettings } {
    const { records } = this.#parts
    const row = samlKinds.map(kind => records.get(kind, id)).find(found => found !== undefined)
    const settings = row?.body.saml
    if (!row?.readable || !settings?.enabled) return fail('saml_off', { id })
    return { row, settings }
  }

  #ask(service: SamlServiceProvider, target: string): Reply {
    return requestFormReply(this.#parts.seal, service, parametersOf(target).get('request') ?? '', this.#now())
  }

  async #signedIn(exchange: Exchange, row: SourceRow, service: SamlServiceProvider): Promise<Reply> {
    const { seal } = this.#parts
    const form = await readForm(exchange)
    const relayState = single(form, 'RelayState') ?? ''
    const accepted = this.#accepted(form, service)
    if (accepted instanceof Problem)
      return rejected(this.#parts, exchange.head, accepted, this.#otherAccount(relayState, service))
    const state = this.#stateFor(accepted, row, service, relayState)
    const parameters = new URLSearchParams({ ticket: sealHandoffToken(seal, service.id, accepted) })
    const reply = handOver(this.#parts, { state, parameters }, 303)
    if (!this.#used.claim(service.id, accepted.id, accepted.until)) fail('saml_replayed')
    return reply
  }

  /** The verified sign-in, or the Problem of a user who is not in an authorized group. */
  #accepted(form: URLSearchParams, service: SamlServiceProvider): Accepted | Problem {
    try {
      return readResponse(single(form, 'SAMLResponse') ?? '', service, this.#now())
    } catch (error) {
      if (error instanceof Problem && error.code === 'saml_group') return error
      throw error
    }
  }

  /** The link for such a user, if the sign-in was started in this realm. */
  #otherAccount(relayState: string, service: SamlServiceProvider): ReturnType<typeof otherAccountLink>[] {
    const { seal } = this.#parts
    const state = openState(seal, relayState)
    if (state?.realmId !== service.id) return []
    return [otherAccountLink({ seal, realmId: service.id, origin: state.origin }, state.returnTo)]
  }

  /** Where the sign-in was started; for one started by the provider, its target. */
  #stateFor({ request }: Accepted, row: SourceRow, service: SamlServiceProvider, relayState: string): State {
    if (request !== undefined) {
      const state = openState(this.#parts.seal, relayState)
      return state?.realmId === service.id && state.flowId !== IDP_INITIATED
        ? state
        : fail('saml_relay_state')
    }
    if (!service.settings.allow_idp_initiated) {
      const { id } = service
      return row.kind === 'https_edge_route'
        ? fail('saml_unasked_route', { id })
        : fail('saml_unasked_config', { id })
    }
    return { ...idpInitiatedTarget(row, relayState, this.#parts), realmId: service.id, flowId: IDP_INITIATED }
  }

  async #signOut(exchange: Exchange, row: SourceRow, service: SamlServiceProvider): Promise<Reply> {
    const { records, userSessions } = this.#parts
    const request = await readLogout(exchange, service, this.#now())
    const ended = sessionsOf(request.nameId, row, service, records)
    await Promise.all(ended.map(id => userSessions.ended(id)))
    return loggedOutReply(service, request, exchange, this.#now())
  }
}
