import type { JSX } from 'preact'
import { AlwaysCaptured } from '#ui/dashboard/capture/capture-state.tsx'
import { ListPage } from '#ui/dashboard/kinds/list-page.tsx'

/** What is captured, and why. */
export const CapturesPage = (): JSX.Element => (
  <>
    <ListPage collection="captures" />
    <AlwaysCaptured />
  </>
)
