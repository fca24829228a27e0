import { signal } from '@preact/signals'
import type { JSX, TargetedMouseEvent } from 'preact'
import { addPasskey, hasPasskeys } from '#ui/dashboard/passkeys.ts'
import { href } from '#ui/dashboard/router.ts'
import { signOut, user } from '#ui/dashboard/session.ts'
import { toast } from '#ui/dashboard/shell/parts.tsx'

type Theme = 'light dark' | 'light' | 'dark'
const themes: readonly { value: Theme; label: string }[] = [
  { value: 'light dark', label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]
const STORED = 'adit-theme'

const isTheme = (value: string | null): value is Theme => themes.some(theme => theme.value === value)

function storedTheme(): Theme {
  const stored = localStorage.getItem(STORED)
  return isTheme(stored) ? stored : 'light dark'
}

const theme = signal<Theme>(storedTheme())

function applyTheme(value: Theme): void {
  theme.value = value
  document.documentElement.style.colorScheme = value
  localStorage.setItem(STORED, value)
}
applyTheme(theme.value)

async function leave(where: 'here' | 'everywhere'): Promise<void> {
  try {
    await signOut(where)
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error))
  }
}

/** Named after the system of the device; the list of passkeys shows when each was used. */
async function newPasskey(): Promise<void> {
  try {
    const [, system = 'this device'] = /\(([^;)]+)/.exec(navigator.userAgent) ?? []
    await addPasskey(`Passkey on ${system}`.slice(0, 100))
    toast('The passkey is added. You can sign in with it.')
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error))
  }
}

/** A link of the menu shows another page below it. */
const closeMenu = ({ currentTarget }: TargetedMouseEvent<HTMLAnchorElement>): void =>
  currentTarget.closest('details')?.removeAttribute('open')

/** Theme, password, sessions, passkeys and sign-out. */
export function UserMenu(): JSX.Element {
  const { name = '', email = '', role = '' } = user.value ?? {}
  return (
    <details class="menu">
      <summary>{name || email}</summary>
      <div class="menu-items">
        <p class="hint">
          {email}, {role}
        </p>
        <label>
          Colours
          <select value={theme.value} onChange={event => applyTheme(event.currentTarget.value as Theme)}>
            {themes.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <a href={href(['password'])} onClick={closeMenu}>
          Change password
        </a>
        <a href={href(['dashboard_sessions'])} onClick={closeMenu}>
          Sessions
        </a>
        {hasPasskeys() && (
          <button type="button" onClick={newPasskey}>
            Add a passkey
          </button>
        )}
        <button type="button" onClick={() => leave('here')}>
          Sign out
        </button>
        <button type="button" onClick={() => leave('everywhere')}>
          Sign out everywhere
        </button>
      </div>
    </details>
  )
}
