import type { ApiAdmission, ApiAdmissionOptions } from '#api/api-admission.ts'
import { emptyReply, jsonReply, redirectReply, withErrorPage } from '#api/answer.ts'
import type { Call } from '#api/call.ts'
import { setSessionCookie } from '#api/dashboard/cookie.ts'
import { invitationUrl, linkUrl, newLink } from '#api/dashboard/links.ts'
import { OpenIdSignIn } from '#api/dashboard/openid.ts'
import { ownOrigin, requireOwnOrigin } from '#api/dashboard/origin.ts'
import { failurePage } from '#api/dashboard/pages.ts'
import { Passkeys } from '#api/dashboard/passkeys.ts'
import type { Session } from '#api/dashboard/sessions.ts'
import { SignIns, type BrowserClient } from '#api/dashboard/sign-ins.ts'
import { orUnavailable } from '#api/dashboard/unavailable-page.ts'
import type { HttpCall, HttpServer, RouteHandler } from '#api/http-server.ts'
import { childRows, find } from '#api/records.ts'
import { remove } from '#api/removing.ts'
import { readJson } from '#api/request.ts'
import { fail } from '#base/errors.ts'
import { timestamp } from '#base/ids.ts'
import { dashboardCalls } from '#contract/dashboard.ts'
import { hasPrefixOf } from '#contract/kind.ts'
import { apiKey as apiKeyKind } from '#contract/kinds/api-key.ts'
import { dashboardSession } from '#contract/kinds/dashboard-session.ts'
import { user as userKind } from '#contract/kinds/users.ts'
import type { Reply } from '#http/exchange.ts'

type Routes = Record<keyof typeof dashboardCalls, RouteHandler>

/** Signing browsers in and out. */
export function addDashboard(
  server: HttpServer,
  options: ApiAdmissionOptions,
  admission: ApiAdmission,
): void {
  const routes = routesOf(options, admission)
  for (const name of Object.keys(routes) as (keyof Routes)[]) {
    const { method, path } = dashboardCalls[name]
    const guarded = async (httpCall: HttpCall): Promise<Reply> => {
      await admission.guard(httpCall)
      return await routes[name](httpCall)
    }
    server.on(method, path, navigated.has(name) ? orUnavailable(options.log, guarded) : guarded)
  }
}

/** A browser shows their response as it is. */
const navigated: ReadonlySet<keyof Routes> = new Set(['openid', 'openid_callback'])

function routesOf(options: ApiAdmissionOptions, admission: ApiAdmission): Routes {
  const { publicUrl, log } = options
  const { browsers, sessions } = admission
  const signIns = new SignIns({ ...options, sessions })
  const openid = options.openid && new OpenIdSignIn(options, options.openid, signIns)
  const start = startedBy(options, admission)
  const signedIn = async (httpCall: HttpCall, signIn: StartSession): Promise<Reply> => {
    requireOwnOrigin(httpCall.request, publicUrl, 'none')
    const token = await start(httpCall, signIn)
    return sessionReply(httpCall, (await sessions.find(token)) ?? fail('session_invalid'))
  }
  return {
    link: httpCall => linkReply(httpCall, options, admission),
    invite: httpCall => invitationReply(httpCall, options, admission),
    methods: httpCall => jsonReply(httpCall, 200, JSON.stringify({ openid: openid !== undefined })),
    openid: withErrorPage({ log, page: failurePage }, async httpCall => {
      const provider = openid ?? fail('openid_off')
      return redirectReply(httpCall, await provider.begin(httpCall, clientOf(httpCall, admission)))
    }),
    openid_callback: withErrorPage({ log, page: failurePage }, async httpCall => {
      const provider = openid ?? fail('openid_off')
      await start(httpCall, client => provider.finish(httpCall, client))
      return redirectReply(httpCall, '/dashboard')
    }),
    login: httpCall =>
      signedIn(httpCall, async client => {
        const { token, email, password } = await readJson(dashboardCalls.login.input, httpCall.request)
        if (token !== undefined) return signIns.withLink(token, client)
        return signIns.withPassword({ email: email ?? '', password: password ?? '' }, client)
      }),
    invitation: httpCall =>
      signedIn(httpCall, async client => {
        const given = await readJson(dashboardCalls.invitation.input, httpCall.request)
        return signIns.withInvitation(given, client)
      }),
    async password(httpCall) {
      const session = await browsers.identify(httpCall.request)
      const given = await readJson(dashboardCalls.password.input, httpCall.request)
      const { current_password: current, password } = given
      const call = admission.callFor(httpCall, session.principal)
      await signIns.changePassword({ current, password }, session, call)
      return emptyReply(httpCall)
    },
    ...passkeyRoutes(new Passkeys(options, signIns), { publicUrl, admission, signedIn }),
    async session(httpCall) {
      return sessionReply(httpCall, await browsers.identify(httpCall.request))
    },
    async logout(httpCall) {
      const { principal } = await browsers.identify(httpCall.request)
      await end([principal.keyId], admission.callFor(httpCall, principal))
      return signedOutReply(httpCall, publicUrl)
    },
    async logout_everywhere(httpCall) {
      const { principal } = await browsers.identify(httpCall.request)
      const call = admission.callFor(httpCall, principal)
      const rows = await childRows(dashboardSession.name, principal.id, call)
      const ids = rows.map(({ id }) => id)
      await end(ids, call)
      return signedOutReply(httpCall, publicUrl)
    },
  }
}

interface PasskeyParts {
  readonly publicUrl: string | undefined
  readonly admission: ApiAdmission
  readonly signedIn: (httpCall: HttpCall, signIn: StartSession) => Promise<Reply>
}

function passkeyRoutes(passkeys: Passkeys, { publicUrl, admission, signedIn }: PasskeyParts) {
  const { browsers } = admission
  const originOf = ({ request }: HttpCall): string => ownOrigin(request, publicUrl)
  return {
    async passkey_options(httpCall) {
      const session = await browsers.identify(httpCall.request)
      return jsonReply(httpCall, 200, JSON.stringify(await passkeys.options(session, originOf(httpCall))))
    },
    async passkey_add(httpCall) {
      const session = await browsers.identify(httpCall.request)
      const given = await readJson(dashboardCalls.passkey_add.input, httpCall.request)
      const call = admission.callFor(httpCall, session.principal)
      const { id, name } = await passkeys.add(given, session, originOf(httpCall), call)
      return jsonReply(httpCall, 201, JSON.stringify({ id, name }))
    },
    passkey_challenge(httpCall) {
      requireOwnOrigin(httpCall.request, publicUrl, 'none')
      return jsonReply(httpCall, 200, JSON.stringify(passkeys.challenge(originOf(httpCall))))
    },
    passkey_login: httpCall =>
      signedIn(httpCall, async client => {
        const given = await readJson(dashboardCalls.passkey_login.input, httpCall.request)
        return passkeys.signIn(given, originOf(httpCall), client)
      }),
  } satisfies Partial<Routes>
}

/** Starts a session, and resolves to its token. */
type StartSession = (client: BrowserClient) => Promise<string>

/** Starts a session in place of the one that the browser had, and sets its cookie. */
function startedBy({ publicUrl }: ApiAdmissionOptions, admission: ApiAdmission) {
  const { browsers, sessions } = admission
  return async (httpCall: HttpCall, signIn: StartSession): Promise<string> => {
    const before = await browsers.sessionOf(httpCall.request)
    const token = await signIn(clientOf(httpCall, admission))
    // An attacker may have given the browser its earlier session.
    if (before) await end([before.principal.keyId], admission.callFor(httpCall, before.principal))
    setSessionCookie(httpCall, { token, seconds: Math.floor(sessions.lifetimeMs / 1000), publicUrl })
    return token
  }
}

function clientOf(httpCall: HttpCall, admission: ApiAdmission): BrowserClient {
  const { ip, base } = admission.callFor(httpCall, NO_ONE)
  return { ip, base, userAgent: httpCall.request.headers['user-agent'] ?? '' }
}

/** The caller of a request before it has signed in. */
const NO_ONE: Call['principal'] = { id: '', role: 'member', subject: '', keyId: '' }

async function linkReply(
  httpCall: HttpCall,
  { store, now, dashboardUrl }: ApiAdmissionOptions,
  admission: ApiAdmission,
): Promise<Reply> {
  const { principal, base: own } = await admission.admit(httpCall)
  const { id: user, keyId: apiKey, role } = principal
  if (role !== 'admin' || !hasPrefixOf(apiKeyKind, apiKey)) fail('link_not_user')
  const { token, expires } = await newLink({ store, now }, { purpose: 'sign_in', user, apiKey })
  // Elsewhere, such as on loopback, the name of the gateway may not be reachable.
  const base = httpCall.request.isViaGateway ? (dashboardUrl ?? own) : own
  return jsonReply(
    httpCall,
    201,
    JSON.stringify({ url: linkUrl(base, token), expires_at: timestamp(expires) }),
  )
}

async function invitationReply(
  httpCall: HttpCall,
  { store, now, dashboardUrl, publicUrl }: ApiAdmissionOptions,
  admission: ApiAdmission,
): Promise<Reply> {
  const call = await admission.admit(httpCall)
  if (call.principal.role !== 'admin') fail('invitation_admin')
  const { user_id: id } = await readJson(dashboardCalls.invite.input, httpCall.request)
  const { body } = await find({ kind: userKind, id, parent: null }, call)
  if (body['active'] !== true) fail('invitation_inactive', { field: 'user_id', id })
  const { token, expires } = await newLink({ store, now }, { purpose: 'invitation', user: id, apiKey: null })
  const answer = {
    url: invitationUrl(dashboardUrl ?? publicUrl ?? call.base, token),
    expires_at: timestamp(expires),
  }
  return jsonReply(httpCall, 201, JSON.stringify(answer))
}

function sessionReply(httpCall: HttpCall, { user, csrfToken, expiresAt }: Session): Reply {
  return jsonReply(httpCall, 200, JSON.stringify({ user, csrf_token: csrfToken, expires_at: expiresAt }))
}

function signedOutReply(httpCall: HttpCall, publicUrl: string | undefined): Reply {
  setSessionCookie(httpCall, { token: '', seconds: 0, publicUrl })
  return emptyReply(httpCall)
}

/** Ends sessions; one that has ended meanwhile is not an error. */
async function end(ids: readonly string[], call: Call): Promise<void> {
  for (const id of ids)
    if (await call.store.get(id)) await remove({ kind: dashboardSession, id, parent: null }, call)
}
