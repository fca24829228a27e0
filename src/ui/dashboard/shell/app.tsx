import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CaptureMark, useCaptureState } from '#ui/dashboard/capture/capture-state.tsx'
import { isReachable } from '#ui/dashboard/api.ts'
import { loadSession, session } from '#ui/dashboard/session.ts'
import { place } from '#ui/dashboard/router.ts'
import { Invitation } from '#ui/dashboard/shell/invitation.tsx'
import { hasLinkToken } from '#ui/dashboard/shell/link-token.ts'
import { Navigation } from '#ui/dashboard/shell/navigation.tsx'
import { Page } from '#ui/dashboard/shell/page.tsx'
import { ErrorBox, Toasts } from '#ui/dashboard/shell/parts.tsx'
import { SearchButton } from '#ui/dashboard/shell/search.tsx'
import { SignIn } from '#ui/dashboard/shell/sign-in.tsx'
import { UserMenu } from '#ui/dashboard/shell/user-menu.tsx'

const RETRY_MS = 2000

/** The dashboard: the sign-in page without a session, and otherwise the page that the path names. */
export function App(): JSX.Element {
  const [error, setError] = useState<Error>()
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const load = (): void => {
      loadSession().then(
        () => setError(undefined),
        (cause: unknown) => {
          setError(cause instanceof Error ? cause : new Error(String(cause)))
          timer = setTimeout(load, RETRY_MS)
        },
      )
    }
    // A one-time link starts a new session.
    if (hasLinkToken()) session.value = null
    else load()
    return () => clearTimeout(timer)
  }, [])
  if (session.value === undefined)
    return <main class="sign-in">{error ? <ErrorBox error={error} /> : <p class="hint">Loading …</p>}</main>
  if (place.value.path[0] === 'invitation') return <Invitation />
  if (session.value === null) return <SignIn />
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Head />
      <Navigation />
      <main id="main" tabIndex={-1}>
        {!isReachable.value && (
          <p class="box warn" role="status">
            The server does not respond. What you see may be out of date; the page tries again.
          </p>
        )}
        <Page />
      </main>
      <Toasts />
    </div>
  )
}

/** The name of the server, so that several are not confused, and what concerns every page. */
function Head(): JSX.Element {
  const { value } = useCaptureState()
  return (
    <header>
      <a href="/" class="brand">
        Adit <span class="dim">{value?.domain}</span>
      </a>
      <CaptureMark state={value} />
      <SearchButton />
      <UserMenu />
    </header>
  )
}
