//! Sessions on a PostgreSQL server.

use std::path::Path;
use std::time::Duration;
