import { signal } from '@preact/signals'
import type { JSX } from 'preact'
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

/** Theme and sign-out. */
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
