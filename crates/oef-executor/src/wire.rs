//! Ids and times of the scheduler as plain numbers in JSON.

use oef_sched::{Generation, JobId, Span, Time};

macro_rules! as_number {
    ($module:ident, $optional:ident, $name:ident) => {
        pub(crate) mod $module {
            use super::$name;
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            pub(crate) fn serialize<S: Serializer>(value: &$name, s: S) -> Result<S::Ok, S::Error> {
                value.0.serialize(s)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<$name, D::Error> {
                u64::deserialize(d).map($name)
            }
        }

        as_number!(@optional $optional, $name);
    };
    (@optional none, $name:ident) => {};
    (@optional $optional:ident, $name:ident) => {
        pub(crate) mod $optional {
            use super::$name;
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            pub(crate) fn serialize<S: Serializer>(
                value: &Option<$name>,
                s: S,
            ) -> Result<S::Ok, S::Error> {
                value.map(|value| value.0).serialize(s)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                d: D,
            ) -> Result<Option<$name>, D::Error> {
                Ok(Option::<u64>::deserialize(d)?.map($name))
            }
        }
    };
}

as_number!(job_id, none, JobId);
as_number!(generation, optional_generation, Generation);
as_number!(span, optional_span, Span);
as_number!(time, none, Time);
