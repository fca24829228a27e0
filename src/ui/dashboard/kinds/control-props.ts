import type { JSX } from 'preact'
import type { Control } from '#ui/dashboard/kinds/form-model.ts'

export interface ControlProps<C extends Control = Control> {
  readonly control: C
  /** Undefined while it is not set. */
  readonly value: unknown
  readonly change: (value: unknown) => void
  /** Dotted, as in errors of the API. */
  readonly path: string
  readonly label: string
  readonly isSecret?: boolean
}

/** Shows a control of any type, for those that contain others. */
export type RenderControl = (props: ControlProps) => JSX.Element

/** The attributes that every input has. */
export const common = ({ path, label }: ControlProps) => ({
  id: `f-${path}`,
  name: path,
  'aria-label': label,
  'aria-describedby': `f-${path}-doc`,
})
