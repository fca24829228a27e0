import { computed, signal } from '@preact/signals'
import { responseError } from '#client/send.ts'
import { CSRF_HEADER, dashboardCalls, FAILURE_META } from '#contract/dashboard.ts'

interface DashboardUser {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly role: 'admin' | 'member'
}

interface BrowserSession {
  readonly user: DashboardUser
  readonly csrf_token: string
  readonly expires_at: string
}

/** Undefined until the server has responded; null without a session. */
export const session = signal<BrowserSession | null | undefined>(undefined)

export const user = computed(() => session.value?.user)
export const isAdmin = computed(() => user.value?.role === 'admin')

/** True after a session ended while the page was used. */
export const hasExpired = signal(false)

/** Called for a response that rejects the session. The address stays, so that signing in returns to the page. */
export function sessionEnded(): void {
  if (!session.value) return
  hasExpired.value = true
  session.value = null
}

export const csrfHeader = (): Record<string, string> =>
  session.value ? { [CSRF_HEADER]: session.value.csrf_token } : {}

/** Calls the API about the session itself. */
export async function post(path: string, body: object): Promise<unknown> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...csrfHeader() },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw responseError(response, text)
  return text === '' ? undefined : JSON.parse(text)
}

export type Credentials = { readonly token: string } | { readonly email: string; readonly password: string }

export async function startSession(path: string, credentials: object): Promise<void> {
  session.value = (await post(path, credentials)) as BrowserSession
  hasExpired.value = false
}

export const signIn = (credentials: Credentials): Promise<void> =>
  startSession(dashboardCalls.login.path, credentials)

/** Sets the password of an invited user. */
export const acceptInvitation = (token: string, password: string): Promise<void> =>
  startSession(dashboardCalls.invitation.path, { token, password })

/** The failed sign-in that the server sent this page for; shown once. */
export function takeFailure(): Error | undefined {
  const meta = document.querySelector<HTMLMetaElement>(`meta[name="${FAILURE_META}"]`)
  meta?.remove()
  return meta ? responseError(new Response(), meta.content) : undefined
}

export const changePassword = (current: string, password: string): Promise<unknown> =>
  post(dashboardCalls.password.path, { password, ...(current !== '' && { current_password: current }) })

/** Whether users of an OpenID provider can sign in. */
export async function hasOpenId(): Promise<boolean> {
  const response = await fetch('/dashboard/methods', { headers: { accept: 'application/json' } })
  return response.ok && ((await response.json()) as { openid: boolean }).openid
}

export async function signOut(where: 'here' | 'everywhere'): Promise<void> {
  await post(dashboardCalls[where === 'here' ? 'logout' : 'logout_everywhere'].path, {})
  hasExpired.value = false
  session.value = null
}

/** Asks the server whose session the browser has. */
export async function loadSession(): Promise<void> {
  // Without further headers, the response is that to the preload of the page.
  const response = await fetch(dashboardCalls.session.path)
  const text = await response.text()
  if (response.status === 401) session.value = null
  else if (response.ok) session.value = JSON.parse(text) as BrowserSession
  else throw responseError(response, text)
}
