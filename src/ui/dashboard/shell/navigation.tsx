import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { isLive } from '#ui/dashboard/live.ts'
import { place } from '#ui/dashboard/router.ts'
import { isAdmin } from '#ui/dashboard/session.ts'
import { hrefOf, pagesOf, sectionOf, sections, type Section } from '#ui/dashboard/sections.ts'

/** The sections, and the pages of the one that is shown. */
export function Navigation(): JSX.Element {
  const { path } = place.value
  const current = sectionOf(path)
  const list = useRef<HTMLUListElement>(null)
  // On narrow screens the sections are a line that scrolls sideways.
  useEffect(() => showCurrent(list.current), [path[0]])
  return (
    <nav aria-label="Sections">
      <ul ref={list}>
        {sections.map(section => (
          <Entry key={section.title} section={section} isOpen={section === current} page={path[0]} />
        ))}
        <li>
          <a href="/docs" target="_blank" rel="noreferrer">
            API reference
          </a>
        </li>
      </ul>
      <p class={isLive.value ? 'live on' : 'live'} role="status">
        {isLive.value ? 'Live' : 'Connecting …'}
      </p>
    </nav>
  )
}

function showCurrent(list: HTMLUListElement | null): void {
  const current = list?.querySelector('[aria-current=page]') ?? list?.querySelector('[aria-current]')
  if (!list || !current) return
  const [box, entry] = [list.getBoundingClientRect(), current.getBoundingClientRect()]
  if (entry.left < box.left || entry.right > box.right)
    list.scrollLeft += entry.left - box.left - (box.width - entry.width) / 2
}

function Entry(props: { section: Section; isOpen: boolean; page: string | undefined }): JSX.Element | null {
  const { section, isOpen, page } = props
  const pages = pagesOf(section, isAdmin.value)
  const [first] = pages
  if (!first) return null
  return (
    <li class={isOpen ? 'open' : ''}>
      <a href={hrefOf(first)} aria-current={isOpen ? 'true' : undefined}>
        {section.title}
      </a>
      {isOpen && pages.length > 1 && (
        <ul>
          {pages.map(each => (
            <li key={each.title}>
              <a href={hrefOf(each)} aria-current={each.path[0] === page ? 'page' : undefined}>
                {each.title}
              </a>
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}
