import type { ApiAdmission, ApiAdmissionOptions } from '#api/api-admission.ts'
import { sendNothing, sendText } from '#api/answer.ts'
import type { Call } from '#api/call.ts'
import { setSessionCookie } from '#api/dashboard/cookie.ts'
import { linkUrl, newLink } from '#api/dashboard/links.ts'
import { requireOwnOrigin } from '#api/dashboard/origin.ts'
import type { Session } from '#api/dashboard/sessions.ts'
import { SignIns } from '#api/dashboard/sign-ins.ts'
import type { HttpCall, HttpServer } from '#api/http-server.ts'
import { childRows } from '#api/records.ts'
import { remove } from '#api/removing.ts'
import { readJson } from '#api/request.ts'
import { fail } from '#base/errors.ts'
import { timestamp } from '#base/ids.ts'
import { dashboardCalls } from '#contract/dashboard.ts'
import { hasPrefixOf } from '#contract/kind.ts'
import { apiKey as apiKeyKind } from '#contract/kinds/api-key.ts'
import { dashboardSession } from '#contract/kinds/dashboard-session.ts'

type Routes = Record<keyof typeof dashboardCalls, (httpCall: HttpCall) => Promise<void>>

/** Signing browsers in and out. */
export function addDashboard(
  server: HttpServer,
  options: ApiAdmissionOptions,
  admission: ApiAdmission,
): void {
  const routes = routesOf(options, admission)
  for (const name of Object.keys(routes) as (keyof Routes)[]) {
    const { method, path } = dashboardCalls[name]
    server.on(method, path, async httpCall => {
      await admission.guard(httpCall)
      await routes[name](httpCall)
    })
  }
}

function routesOf(options: ApiAdmissionOptions, admission: ApiAdmission): Routes {
  const { publicUrl } = options
  const { browsers, sessions } = admission
  const signIns = new SignIns({ ...options, sessions })
  return {
    link: httpCall => sendLink(httpCall, options, admission),
    async login(httpCall) {
      const { request } = httpCall
      requireOwnOrigin(request, publicUrl, 'none')
      const given = await readJson(dashboardCalls.login.input, request)
      const { ip, base } = admission.callFor(httpCall, NO_ONE)
      const userAgent = request.headers['user-agent'] ?? ''
      const before = await browsers.sessionOf(request)
      const token = await signIns.withLink(given.token, { ip, base, userAgent })
      // An attacker may have given the browser its earlier session.
      if (before) await end([before.principal.keyId], admission.callFor(httpCall, before.principal))
      const seconds = Math.floor(sessions.lifetimeMs / 1000)
      setSessionCookie(httpCall, { token, seconds, publicUrl })
      sendSession(httpCall, (await sessions.find(token)) ?? fail('session_invalid'))
    },
    async session(httpCall) {
      sendSession(httpCall, await browsers.identify(httpCall.request))
    },
    async logout(httpCall) {
      const { principal } = await browsers.identify(httpCall.request)
      await end([principal.keyId], admission.callFor(httpCall, principal))
      sendSignedOut(httpCall, publicUrl)
    },
    async logout_everywhere(httpCall) {
      const { principal } = await browsers.identify(httpCall.request)
      const call = admission.callFor(httpCall, principal)
      const rows = await childRows(dashboardSession.name, principal.id, call)
      const ids = rows.map(({ id }) => id)
      await end(ids, call)
      sendSignedOut(httpCall, publicUrl)
    },
  }
}

/** The caller of a request before it has signed in. */
const NO_ONE: Call['principal'] = { id: '', role: 'member', subject: '', keyId: '' }

async function sendLink(
  httpCall: HttpCall,
  { store, now }: ApiAdmissionOptions,
  admission: ApiAdmission,
): Promise<void> {
  const { principal, base } = await admission.admit(httpCall)
  const { id: user, keyId: apiKey, role } = principal
  if (role !== 'admin' || !hasPrefixOf(apiKeyKind, apiKey)) fail('link_not_user')
  const { token, expires } = await newLink({ store, now }, { user, apiKey })
  sendText(httpCall, 201, JSON.stringify({ url: linkUrl(base, token), expires_at: timestamp(expires) }))
}

function sendSession(httpCall: HttpCall, { user, csrfToken, expiresAt }: Session): void {
  sendText(httpCall, 200, JSON.stringify({ user, csrf_token: csrfToken, expires_at: expiresAt }))
}

function sendSignedOut(httpCall: HttpCall, publicUrl: string | undefined): void {
  setSessionCookie(httpCall, { token: '', seconds: 0, publicUrl })
  sendNothing(httpCall)
}

/** Ends sessions; one that has ended meanwhile is not an error. */
async function end(ids: readonly string[], call: Call): Promise<void> {
  for (const id of ids)
    if (await call.store.get(id)) await remove({ kind: dashboardSession, id, parent: null }, call)
}
