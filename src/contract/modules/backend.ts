import { module } from '#contract/kind.ts'
import { backends } from '#contract/kinds/backends.ts'
import { ref, required } from '#contract/shape.ts'

export const backend = module({
  name: 'backend',
  doc: 'Where accepted traffic goes.',
  fields: { backend: required(ref(backends, 'backend_id', 'The backend that responds.')) },
})
