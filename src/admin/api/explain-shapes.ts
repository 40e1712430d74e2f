import { z } from 'zod';
import { EXPLAINED_METHODS } from '../../explain/index.ts';
import { whoKeys } from './shapes.ts';

export const explainSchema = z.strictObject({
  method: z
    .string()
    .refine(method => EXPLAINED_METHODS.includes(method), { error: 'expected a method such as GET, or GRPC' })
    .describe('GET, POST, ..., or GRPC for a gRPC call.'),
  path: z
    .string()
    .min(1)
    .describe(
      'As in a request line; of a gRPC call: package.Service/Method. Percent-encoded, as any value of a query.',
    ),
  ...whoKeys,
  as: z
    .enum(['user', 'bot', 'address'])
    .optional()
    .describe('Limits of one class of callers only, or the class of these claims. Default: every class.'),
});

/** As `weir explain --format json` prints it. */
export const explanationSchema = z.strictObject({
  method: z.string(),
  path: z.string(),
  served: z.boolean().describe('false: the gateway refuses the request.'),
  facts: z
    .array(z.strictObject({ about: z.string(), text: z.string() }))
    .describe(
      'The restrictions in force of the client asked about (restricted now); then what the gateway would do, and the lines of the configuration that say so, in the order of the gates.',
    ),
});
