import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ErrorBox } from '#ui/dashboard/shell/parts.tsx'
import { hasPasskeys, signInWithPasskey } from '#ui/dashboard/passkeys.ts'
import { go, isSignInPath, place } from '#ui/dashboard/router.ts'
import { hasExpired, hasOpenId, signIn, takeFailure, type Credentials } from '#ui/dashboard/session.ts'
import { takeToken } from '#ui/dashboard/shell/link-token.ts'

export function SignIn(): JSX.Element {
  const [error, setError] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  const [isOpenId, setIsOpenId] = useState(false)
  const attempt = async (start: () => Promise<void>): Promise<void> => {
    setIsBusy(true)
    setError(undefined)
    try {
      await start()
      if (isSignInPath(place.value.path)) go('/', 'replace')
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
    setIsBusy(false)
  }
  useEffect(() => {
    document.title = 'Sign in · Adit'
    setError(takeFailure())
    const token = takeToken()
    if (token !== undefined) void attempt(() => signIn({ token }))
    // Without a response there is only one way less to sign in.
    hasOpenId().then(setIsOpenId, () => undefined)
  }, [])
  return (
    <main class="sign-in">
      <p class="brand">Adit</p>
      <h1>Sign in</h1>
      {hasExpired.value && <p role="status">Your session has ended. Sign in to continue on this page.</p>}
      <PasswordForm isBusy={isBusy} attempt={credentials => attempt(() => signIn(credentials))} />
      {hasPasskeys() && (
        <button type="button" disabled={isBusy} onClick={() => attempt(signInWithPasskey)}>
          Sign in with a passkey
        </button>
      )}
      {isOpenId && (
        // The target makes the browser load it, since it is not a page of the dashboard.
        <a href="/dashboard/oidc" target="_self">
          Sign in with your organisation
        </a>
      )}
      {error && <ErrorBox error={error} />}
      <p class="hint">
        No password? An admin invites you, or replaces a forgotten one. With an admin API key, run{' '}
        <code>adit dashboard</code>: it prints a link that signs in once.
      </p>
    </main>
  )
}

function PasswordForm(props: {
  isBusy: boolean
  attempt: (credentials: Credentials) => Promise<void>
}): JSX.Element {
  const { isBusy, attempt } = props
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        void attempt({ email, password })
      }}
    >
      <label>
        E-mail address
        <input
          type="email"
          name="email"
          autocomplete="username"
          required
          value={email}
          onInput={event => setEmail(event.currentTarget.value)}
        />
      </label>
      <label>
        Password
        <input
          type="password"
          name="password"
          autocomplete="current-password"
          required
          value={password}
          onInput={event => setPassword(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="primary" disabled={isBusy}>
        Sign in
      </button>
    </form>
  )
}
