import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { PageHead, Shown } from '#ui/dashboard/shell/parts.tsx'

/** The packages of others that the program contains. */
export function LicencesPage(): JSX.Element {
  const loaded = useLoaded('licences', () => api.licences())
  return (
    <>
      <PageHead title="Licences" sub="Adit has the Apache License 2.0, and contains these packages." />
      <Shown of={loaded}>
        {({ licences }) => (
          <ul class="licences">
            {licences.map(({ name, version, licence, text }) => (
              <li key={`${name} ${version}`}>
                <details>
                  <summary>
                    {name} {version} <span class="dim">{licence}</span>
                  </summary>
                  <pre tabIndex={0} aria-label={`Licence of ${name}`}>
                    {text}
                  </pre>
                </details>
              </li>
            ))}
          </ul>
        )}
      </Shown>
    </>
  )
}
