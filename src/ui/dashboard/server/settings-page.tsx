import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { PageHead, Shown } from '#ui/dashboard/shell/parts.tsx'

type Setting = Awaited<ReturnType<typeof api.settings>>['settings'][number]

/** The settings that the server uses, and where each comes from. */
export function SettingsPage(): JSX.Element {
  const loaded = useLoaded('settings', () => api.settings())
  const [words, setWords] = useState('')
  const [isAll, setIsAll] = useState(false)
  const isShown = ({ name, doc, source }: Setting): boolean =>
    (isAll || (source !== null && source !== 'default')) &&
    `${name} ${doc}`.toLowerCase().includes(words.toLowerCase())
  return (
    <>
      <PageHead title="Settings" sub="They are changed by flags, variables and the settings file." />
      <div class="bar">
        <input
          type="search"
          aria-label="Filter"
          placeholder="Filter"
          value={words}
          onInput={event => setWords(event.currentTarget.value)}
        />
        <label class="toggle">
          <input type="checkbox" checked={isAll} onChange={event => setIsAll(event.currentTarget.checked)} />
          Also defaults
        </label>
      </div>
      <Shown of={loaded}>{({ settings }) => <SettingsTable settings={settings.filter(isShown)} />}</Shown>
    </>
  )
}

function SettingsTable({ settings }: { settings: readonly Setting[] }): JSX.Element {
  if (settings.length === 0)
    return <p class="empty">No setting differs from its default. Turn on "Also defaults" to see all.</p>
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Settings">
      <table>
        <thead>
          <tr>
            {['Setting', 'Value', 'Source', 'Meaning'].map(title => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {settings.map(({ name, value, source, origin, doc }) => (
            <tr key={name}>
              <th scope="row">
                <code>{name}</code>
              </th>
              <td dir="auto" data-title="Value">
                {value ?? <span class="dim">not set</span>}
              </td>
              <td data-title="Source">{origin ?? source ?? '–'}</td>
              <td>{doc}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
