import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Dialog } from '#ui/dashboard/shell/parts.tsx'
import { go } from '#ui/dashboard/router.ts'
import { hostHits, pageHits, type Hit } from '#ui/dashboard/shell/search-hits.ts'

const isOpen = signal(false)
const isMac = /Mac|iP(hone|ad)/.test(navigator.userAgent)

addEventListener('keydown', event => {
  if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey)) return
  event.preventDefault()
  isOpen.value = true
})

/** The search field: pages, ids and host names. */
export function SearchButton(): JSX.Element {
  return (
    <>
      <button type="button" class="search" onClick={() => (isOpen.value = true)}>
        Search <kbd>{isMac ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      {isOpen.value && <Search />}
    </>
  )
}

function Search(): JSX.Element {
  const [text, setText] = useState('')
  const [hosts, setHosts] = useState<readonly Hit[]>([])
  const [at, setAt] = useState(0)
  useEffect(() => {
    let isCurrent = true
    const timer = setTimeout(() => {
      hostHits(text.trim()).then(
        found => isCurrent && setHosts(found),
        () => isCurrent && setHosts([]),
      )
    }, 150)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text])
  const hits = [...pageHits(text.trim()), ...hosts].slice(0, 20)
  const chosen = Math.min(at, hits.length - 1)
  const open = (hit: Hit | undefined): void => {
    if (!hit) return
    isOpen.value = false
    go(hit.href)
  }
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setAt(Math.max(0, Math.min(hits.length - 1, chosen + step)))
    else if (event.key === 'Enter') open(hits[chosen])
    else return
    event.preventDefault()
  }
  return (
    <Dialog label="Search" close={() => (isOpen.value = false)}>
      <input
        type="text"
        role="combobox"
        aria-label="Host name, id or page"
        aria-expanded={hits.length > 0}
        aria-controls="search-hits"
        aria-activedescendant={hits.length > 0 ? `hit-${chosen}` : undefined}
        placeholder="Host name, id or page"
        autocomplete="off"
        value={text}
        onInput={event => {
          setText(event.currentTarget.value)
          setAt(0)
        }}
        onKeyDown={press}
      />
      <ul id="search-hits" role="listbox" aria-label="Results">
        {hits.map((hit, index) => (
          <li
            key={hit.href}
            id={`hit-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => open(hit)}
          >
            <span>{hit.title}</span> <span class="dim">{hit.what}</span>
          </li>
        ))}
      </ul>
      {text !== '' && hits.length === 0 && <p class="hint">Nothing found.</p>}
    </Dialog>
  )
}
